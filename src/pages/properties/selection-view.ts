/** View of `/<actor>/www/selection`: the properties to delete, and the confirmation. */
import { html } from 'hono/html'
import { hiddenFields } from '../shared/forms.ts'
import { actorPage, forgeryField, type PageContext } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'
import { selectedField } from './selection-field.ts'
import type { SelectionValues } from './values.ts'

export function selectionPage(values: SelectionValues, context: PageContext): Html {
  const { names, form_action, actor_www, undo_days } = values
  const { messages } = context
  const words = messages.properties
  return actorPage(
    values,
    {
      ...context,
      title: words.deleteCount(names.length),
      section: '/properties',
      trail: [{ text: words.title, href: `${actor_www}/properties` }],
      isAnswer: true,
    },
    html`
<h1>${words.deleteCount(names.length)}</h1>
<section class="card urgent" aria-label="${words.deleteCount(names.length)}">
<p>${undo_days === 0 ? words.deleteManyText(names.length) : words.deleteKeptText(undo_days)}</p>
<ul class="plain short">${names.map((name) => html`<li>${visible(name)}</li>`)}</ul>
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'confirm', ...Object.fromEntries(names.map((name) => [`${selectedField}${name}`, '1'])) })}
<p class="actions"><a class="button quiet" href="${actor_www}/properties">${words.keep}</a><button class="danger" type="submit">${words.deleteCount(names.length)}</button></p></form>
</section>`,
  )
}
