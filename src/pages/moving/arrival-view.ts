/** View of `/moves/<actor>/claim`: the owner takes an account that came from another service. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { hiddenFields } from '../shared/forms.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import type { ArrivalValues } from './values.ts'

export function arrivalPage(values: ArrivalValues, { messages }: PageContext): Html {
  const { arrival: words } = messages
  const title = values.state === 'used' ? words.used : values.state === 'coming' ? words.coming : words.title
  return page(
    { ...values, title, messages },
    html`
<section class="card">
<h1>${title}</h1>
${contentOf(values, messages)}
</section>`,
  )
}

function contentOf(values: ArrivalValues, messages: Messages): Html {
  const { arrival: words } = messages
  switch (values.state) {
    case 'used':
      return html`<p class="lead">${words.usedText}</p><p><a class="button" href="${values.base_path}/">${words.signIn}</a></p>`
    case 'coming':
      return html`<p class="lead" role="status">${words.comingText(values.from)}</p><p><a class="button" href="">${words.reload}</a></p>`
    case 'taken':
      return html`<p class="lead" role="status">${words.takenText}</p>
<dl><dt>${words.name}</dt><dd>${values.creator}</dd><dt>${words.passphrase}</dt><dd><code>${values.passphrase}</code></dd></dl>
<p><a class="button" href="${values.account_href}">${words.open}</a></p>`
    case 'here':
      return choices(values, messages)
    default:
      return values.state satisfies never
  }
}

function choices(values: ArrivalValues, { arrival: words, front }: Messages): Html {
  const { providers, by_passphrase } = values
  return html`<p class="lead">${words.text(values.from)}</p>
${
  providers.length === 0
    ? ''
    : html`<ul class="providers">${providers.map(
        ({ name, url, display_name: shown }) =>
          html`<li><a class="button" href="${url}">${name === 'local' ? front.continueAsTestUser : front.continueWith(shown)}</a></li>`,
      )}</ul>`
}
${
  by_passphrase
    ? html`<form method="post" action="${values.action}">${hiddenFields({ code: values.code })}<button type="submit"${providers.length === 0 ? '' : html` class="quiet"`}>${words.byPassphrase}</button></form>`
    : ''
}`
}
