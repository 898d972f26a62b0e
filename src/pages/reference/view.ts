/** View of `/docs`: the API in a page without a script, from the OpenAPI document. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import { referenceStyle } from './style.ts'
import type { ReferenceOperation, ReferenceValues } from './values.ts'

type Words = Messages['reference']

export function referencePage(values: ReferenceValues, { messages }: PageContext): Html {
  const { reference: words } = messages
  const { groups, document_url, service_url } = values
  return page(
    { ...values, title: words.title, messages, styles: [referenceStyle] },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text(document_url)}</p>
<p><code>${service_url}</code></p>
<nav class="chips" aria-label="${words.parts}"><ul>${groups.map(({ name }) => html`<li><a href="#${groupId(name)}">${name}</a></li>`)}</ul></nav>
${groups.map(
  ({ name, operations }) => html`<section aria-labelledby="${groupId(name)}"><h2 id="${groupId(name)}">${name}</h2>
${operations.map((each) => operationView(each, words))}</section>
`,
)}`,
  )
}

function groupId(name: string): string {
  return `part-${name.replaceAll('/', '')}`
}

function operationView(operation: ReferenceOperation, words: Words): Html {
  const { id, method, path, summary, is_protected, parameters, bodies, responses } = operation
  return html`<details class="card operation" id="${id}"><summary><span class="method">${method}</span> <code>${path}</code> <span class="about">${prose(summary)}</span></summary>
<p class="fine">${is_protected ? words.needsCredential : words.open}</p>
${
  parameters.length === 0
    ? ''
    : html`<h3>${words.parameters}</h3>
<dl class="facts">${parameters.map(
        ({ name, place, is_required, type, description }) =>
          html`<dt><code>${name}</code> ${words.places[place]}${type === '' ? '' : html` · ${type}`}${is_required ? html` · ${words.required}` : ''}</dt><dd>${prose(description)}</dd>`,
      )}</dl>`
}
${bodies.map(({ type, schema }) => html`<h3>${words.body(type)}</h3>${schema === '' ? '' : html`<pre tabindex="0">${schema}</pre>`}`)}
<h3>${words.responses}</h3>
<dl class="facts">${responses.map(({ status, description }) => html`<dt><code>${status}</code></dt><dd>${prose(description)}</dd>`)}</dl></details>
`
}

/** Text with code between backticks. */
function prose(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`
}
