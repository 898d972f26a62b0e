/** View of `/<actor>/www/history/undo`: what an undo would change, with the confirmation. */
import { html } from 'hono/html'
import { hiddenFields } from '../shared/forms.ts'
import { actorPage, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import type { UndoneProperty, UndoValues } from './values.ts'

export function undoPage(values: UndoValues, context: PageContext): Html {
  const { who, since, undone, conflicts, fields, actor_www } = values
  const { history: words, properties } = context.messages
  return actorPage(
    values,
    {
      ...context,
      title: words.undoTitle,
      section: '/properties',
      trail: [
        { text: properties.title, href: `${actor_www}/properties` },
        { text: words.title, href: `${actor_www}/history` },
      ],
      isAnswer: true,
    },
    html`
<h1>${words.undoTitle}</h1>
<p class="lead">${words.undoText(html`<strong>${who}</strong>`, since === null ? null : momentView(since))}</p>
${
  undone.length === 0
    ? html`<p class="empty">${words.nothingToUndo}</p>`
    : html`<section class="card" aria-labelledby="undone"><h2 id="undone">${words.willBeUndone(undone.length)}</h2>${names(undone)}</section>`
}
${
  conflicts.length === 0
    ? ''
    : html`<section class="card" aria-labelledby="kept"><h2 id="kept">${words.willStay(conflicts.length)}</h2>
<ul class="plain">${conflicts.map(({ name, href, reason }) => html`<li><a href="${href}">${name}</a> <span class="kind">${words.reasons[reason]}</span></li>`)}</ul></section>`
}
<form method="post" action="${actor_www}/history/undo">${forgeryField(values)}${hiddenFields(fields)}
<p class="actions"><a class="button quiet" href="${actor_www}/history">${words.keep}</a>${undone.length === 0 ? '' : html`<button type="submit">${words.undoButton(undone.length)}</button>`}</p></form>`,
  )
}

function names(properties: readonly UndoneProperty[]): Html {
  return html`<ul class="plain">${properties.map(({ name, href }) => html`<li><a href="${href}">${name}</a></li>`)}</ul>`
}
