/** View of `/<actor>/www/import`: a form to import an archive, and what the last import did. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField } from '../shared/form-field.ts'
import { hiddenFields } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import type { ImportValues, NamedImport, ShownImport } from './values.ts'

type Words = Messages['imports']

export function importPage(values: ImportValues, context: PageContext): Html {
  const { messages } = context
  const words = messages.imports
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/settings',
      wrongField: values.error_field,
      trail: [{ href: `${values.actor_www}/settings`, text: messages.navigation.settings }],
    },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${following(
  'import',
  ['import'],
  html`${values.last === null ? '' : lastImport(values, values.last, words)}
${isReady(values) ? uploadForm(values, words) : ''}`,
)}`,
  )
}

/** One import runs at a time. The form with an error stays, because the error is at its field. */
function isReady({ last, error }: ImportValues): boolean {
  return last?.state !== 'running' || error !== null
}

function uploadForm(values: ImportValues, words: Words): Html {
  const { form_action, error, error_field, largest } = values
  return html`<section class="card" aria-labelledby="upload"><h2 id="upload">${words.upload}</h2>
<form method="post" action="${form_action}" enctype="multipart/form-data">${forgeryField(values)}
<fieldset><legend>${words.existing}</legend>
<label class="choice"><input type="radio" name="existing" value="keep" checked> ${words.keep}</label>
<label class="choice"><input type="radio" name="existing" value="replace"> ${words.replace}</label></fieldset>
${formField({
  id: 'file',
  name: 'file',
  label: words.file,
  value: '',
  hint: words.fileHint(largest),
  error: error_field === 'file' ? error : null,
  attributes: { type: 'file', required: true, accept: '.jsonl,.gz,application/x-ndjson,application/gzip' },
})}
<button type="submit">${words.button}</button></form></section>`
}

function lastImport(values: ImportValues, last: ShownImport, words: Words): Html {
  const { history_href } = values
  const isAny = last.kinds.some(({ imported }) => imported > 0)
  return html`<section class="card" aria-labelledby="last"><h2 id="last">${words.last}</h2>
${last.state === 'running' ? running(last, words) : ending(last, words)}
<div class="table"><table><thead><tr><th scope="col">${words.kind}</th><th scope="col">${words.imported}</th><th scope="col">${words.same}</th></tr></thead>
<tbody>${last.kinds.map(
    ({ kind, imported, same }) =>
      html`<tr><th scope="row">${words.kinds[kind]}</th><td>${words.number(imported)}</td><td>${words.number(same)}</td></tr>`,
  )}</tbody></table></div>
${last.state === 'running' ? stopForm(values, words) : ''}
${last.kept_count === 0 ? '' : html`<div class="connected"><h3>${words.kept(last.kept_count)}</h3><p>${words.keptText}</p>${names(last.kept, last.kept_count, words)}</div>`}
${last.refused_count === 0 ? '' : html`<div class="connected"><h3>${words.refused(last.refused_count)}</h3>${names(last.refused, last.refused_count, words)}</div>`}
${last.left_out === 0 ? '' : html`<p class="fine">${words.leftOut(last.left_out)}</p>`}
${isAny && history_href !== null ? html`<p><a href="${history_href}">${words.history}</a></p>` : ''}</section>`
}

function running({ position, records }: ShownImport, words: Words): Html {
  const text = words.running(position, records)
  return html`<p>${text}</p><p><progress value="${position}" max="${records}" aria-label="${text}"></progress></p>`
}

function stopForm(values: ImportValues, words: Words): Html {
  return html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'stop' })}<button type="submit" class="quiet">${words.stop}</button></form>`
}

function ending({ state, ended, started }: ShownImport, words: Words): Html {
  const moment = momentView(ended ?? started)
  if (state === 'failed') return html`<p>${words.failed(moment)}</p>`
  return html`<p>${state === 'stopped' ? words.stopped(moment) : words.done(moment)}</p>`
}

function names(all: readonly NamedImport[], count: number, words: Words): Html {
  return html`<ul class="plain">${all.map(
    ({ name, href, message }) =>
      html`<li>${href === null ? name : html`<a href="${href}">${name}</a>`}${message === '' ? '' : html`<br><span class="fine">${message}</span>`}</li>`,
  )}${count > all.length ? html`<li>${words.more(count - all.length)}</li>` : ''}</ul>`
}
