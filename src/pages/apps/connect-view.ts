/** The guide that connects an AI client. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { copyButton } from '../shared/forms.ts'
import type { Html } from '../shared/values.ts'
import { clientSetups } from './connect-guide.ts'
import type { AppsValues } from './values.ts'

/** Nothing for a service that serves no AI clients. */
export function connectGuide({ mcp_url, name, groups }: AppsValues, messages: Messages): Html | string {
  if (mcp_url === '') return ''
  const { connectClient: words } = messages
  return html`<details class="card" id="connect"${groups.length === 0 ? html` open` : ''}><summary>${words.title}</summary>
<p>${words.text}</p>
<h3>${words.web}</h3>
<p>${words.webText}</p>
${clientSetups(mcp_url, name).map(({ step, client, text }) => {
  const id = `setup-${step}`
  return html`<div class="card-head"><h3>${client}</h3>${copyButton(id, client, messages)}</div>
<p>${words[step]}</p>
<pre dir="ltr"><code id="${id}">${text}</code></pre>`
})}</details>`
}
