/** View of `/moves/<actor>/claim`: the owner takes an account that came from another service. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { hiddenFields } from '../shared/forms.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import type { ArrivalValues, ArrivedReaderRow } from './values.ts'

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
  const { providers, by_passphrase, readers, code, version, csrf_token, error } = values
  return html`<p class="lead">${words.text(values.from)}</p>
${error === null ? '' : html`<p class="error" role="alert">${error}</p>`}
<form method="post" action="${values.action}">${hiddenFields({ code, version, csrf_token })}
${readers.length === 0 ? '' : kept(readers, words)}
<h2>${words.signInTitle}</h2>
<ul class="providers">${providers.map(
    ({ name, display_name: shown }) =>
      html`<li><button type="submit" name="way" value="${name}">${name === 'local' ? front.continueAsTestUser : front.continueWith(shown)}</button></li>`,
  )}${by_passphrase ? html`<li><button type="submit"${providers.length === 0 ? '' : html` class="quiet"`}>${words.byPassphrase}</button></li>` : ''}</ul></form>`
}

function kept(readers: readonly ArrivedReaderRow[], words: Messages['arrival']): Html {
  const groups = Map.groupBy(readers, ({ kind }) => kind)
  const kinds: Readonly<Record<string, string>> = words.kinds
  return html`<h2>${words.keepTitle}</h2>
<p>${words.keepText}</p>
${[...groups].map(
  ([kind, rows]) =>
    html`<fieldset class="group"><legend>${kinds[kind] ?? kind}</legend>${rows.map((row) => readerChoice(row, words))}</fieldset>`,
)}
<fieldset><legend>${words.allTitle}</legend><label class="choice"><input type="checkbox" name="all" value="1"> <span>${words.all(readers.length)}</span></label></fieldset>`
}

function readerChoice(
  { field, name, address, relationship, has_own_rights }: ArrivedReaderRow,
  words: Messages['arrival'],
): Html {
  const facts = [relationship, has_own_rights ? words.ownRights : ''].filter((fact) => fact !== '').join(' · ')
  return html`<label class="choice"><input type="checkbox" name="${field}" value="1"> <span>${name === '' ? words.noName : name}${
    address === '' ? '' : html`<br><code>${address}</code>`
  }${facts === '' ? '' : html`<br><span class="fine">${facts}</span>`}</span></label>`
}
