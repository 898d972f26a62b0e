/** View of `/<actor>/www/files`: the files of the actor, and the forms to store and delete one. */
import { html } from 'hono/html'
import type { Messages } from '../../../pages/languages/language.ts'
import { formField, verbatim } from '../../../pages/shared/form-field.ts'
import { deletion } from '../../../pages/shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../../../pages/shared/layout.ts'
import { momentView } from '../../../pages/shared/time.ts'
import type { Html } from '../../../pages/shared/values.ts'
import type { FileRow, FilesValues } from './values.ts'

export function filesPage(values: FilesValues, context: PageContext): Html {
  const { files, next_href, is_first, form_action } = values
  const { messages } = context
  const words = messages.files
  return actorPage(
    values,
    { ...context, title: words.title, section: '/files' },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${uploadForm(values, words)}
${following(
  'files',
  ['files'],
  html`<p class="kind">${words.usage(values.count, values.used, values.most)}</p>
${files.length === 0 ? html`<p class="empty">${is_first ? words.empty : words.noMore}</p>` : html`<ul class="rows">${files.map((file) => row(values, file, messages))}</ul>`}
${
  next_href === null && is_first
    ? ''
    : html`<nav class="pager" aria-label="${messages.forms.pages}">${is_first ? html`<span></span>` : html`<a href="${form_action}" rel="first">${words.first}</a>`}${next_href === null ? html`<span></span>` : html`<a href="${next_href}" rel="next">${words.next}</a>`}</nav>`
}`,
)}`,
  )
}

function uploadForm(values: FilesValues, words: Messages['files']): Html {
  const { form_action, error, error_field, largest } = values
  const errorAt = (field: string): string | null => (error_field === field ? error : null)
  return html`<details class="fold"${error === null ? '' : html` open`}><summary>${words.upload}</summary>
<form method="post" action="${form_action}" enctype="multipart/form-data">${forgeryField(values)}
${formField({
  id: 'file-name',
  name: 'name',
  label: words.name,
  value: '',
  hint: words.nameHint,
  error: errorAt('name'),
  attributes: { ...verbatim, maxlength: '1024', placeholder: 'photos/cat.jpg' },
})}
${formField({
  id: 'file',
  name: 'file',
  label: words.file,
  value: '',
  hint: words.fileHint(largest),
  error: errorAt('file'),
  attributes: { type: 'file', required: true },
})}
<button type="submit">${words.uploadButton}</button></form></details>`
}

function row(values: FilesValues, { name, label, href, size, type, updated }: FileRow, messages: Messages): Html {
  const words = messages.files
  return html`<li><p><a href="${href}" download>${label}</a></p>
<p class="kind">${words.facts(size, type, momentView(updated))}</p>
${deletion(
  values,
  {
    action: values.form_action,
    fields: { action: 'delete', name },
    warning: words.deleteText,
    button: words.delete(label),
  },
  messages,
)}</li>
`
}
