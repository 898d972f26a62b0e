/** The page on which owners choose their messages. */
import { html } from 'hono/html'
import { checkField } from '../../pages/shared/form-field.ts'
import { actorPage, forgeryField, type PageContext } from '../../pages/shared/layout.ts'
import type { PageGroup } from '../../pages/shared/page-group.ts'
import type { ActorPageValues, Html } from '../../pages/shared/values.ts'

import type { OptionalKind } from './choice-store.ts'

export interface MailPageValues extends ActorPageValues {
  /** The kinds of messages that can be turned off. Their names are the fields of the form. */
  readonly kinds: readonly { readonly name: OptionalKind; readonly is_wanted: boolean }[]
  readonly form_action: string
}

export function mailPage(values: MailPageValues, context: PageContext): Html {
  const { mail: words, navigation } = context.messages
  const trail = [{ text: navigation.settings, href: `${values.actor_www}/settings` }]
  return actorPage(
    values,
    { ...context, title: words.choices, section: '/settings', trail },
    html`
<h1>${words.choices}</h1>
<section class="card"><p>${words.choicesText}</p>
<form method="post" action="${values.form_action}">${forgeryField(values)}
${values.kinds.map(({ name, is_wanted }) => checkField({ id: name, name, label: words.kinds[name], value: '1' }, is_wanted))}
<p class="fine">${words.always}</p>
<button type="submit">${words.save}</button></form></section>`,
  )
}

export const mailPages = {
  pages: [{ name: 'mail', template: 'aw-actor-www-mail.html', view: mailPage }],
} as const satisfies PageGroup
