/** The panel of a property's page with programs that read and change the property. */
import { html } from 'hono/html'
import { copyButton } from '../shared/forms.ts'
import type { Messages } from '../languages/language.ts'
import type { Html } from '../shared/values.ts'
import { programsFor } from './programs.ts'
import type { PropertyValues } from './values.ts'

export function developerView(values: PropertyValues, messages: Messages): Html {
  const words = messages.properties
  return html`<details class="card"><summary>${words.developers}</summary>
<p class="fine">${words.developersText} <a href="${values.actor_www}/apps">${messages.apps.keys}</a></p>
${programsFor(values).map(({ language, program }) => {
  const id = `program-${language.toLowerCase()}`
  return html`<div class="card-head"><h2>${language}</h2>${copyButton(id, language, messages)}</div>
<pre dir="ltr"><code id="${id}">${program}</code></pre>`
})}</details>`
}
