/** View of `/<actor>/www/files`: the files of the actor, and the forms to store and delete one. */
import { html } from 'hono/html'
import { formField, verbatim } from '../shared/form-field.ts'
import { deletion } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type Navigation } from '../shared/layout.ts'
import { count } from '../shared/plural.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import type { FileRow, FilesValues } from './values.ts'

export function filesPage(values: FilesValues, navigation: Navigation): Html {
  const { files, next_href, is_first, form_action } = values
  return actorPage(
    values,
    { title: 'Files', section: '/files', navigation },
    html`
<h1>Files</h1>
<p class="lead">Pictures, documents and other files of your actor. Whom you gave a right to them can read or change them.</p>
${uploadForm(values)}
${following(
  'files',
  ['files'],
  html`<p class="kind">${count(values.count, 'file', 'files')}, ${values.used} of ${values.most}</p>
${files.length === 0 ? html`<p class="empty">${is_first ? 'No files yet.' : 'No further files.'}</p>` : html`<ul class="rows">${files.map((file) => row(values, file))}</ul>`}
${
  next_href === null && is_first
    ? ''
    : html`<nav class="pager" aria-label="Parts of the files">${is_first ? html`<span></span>` : html`<a href="${form_action}" rel="first">The first</a>`}${next_href === null ? html`<span></span>` : html`<a href="${next_href}" rel="next">More</a>`}</nav>`
}`,
)}`,
  )
}

function uploadForm(values: FilesValues): Html {
  const { form_action, error, error_field, largest } = values
  const errorAt = (field: string): string | null => (error_field === field ? error : null)
  return html`<details class="fold"${error === null ? '' : html` open`}><summary>Store a file</summary>
<form method="post" action="${form_action}" enctype="multipart/form-data">${forgeryField(values)}
${formField({
  id: 'file-name',
  name: 'name',
  label: 'Name',
  value: '',
  hint: 'Leave it empty to keep the name of the file. A file of the same name is replaced.',
  error: errorAt('name'),
  attributes: { ...verbatim, maxlength: '1024', placeholder: 'photos/cat.jpg' },
})}
${formField({
  id: 'file',
  name: 'file',
  label: 'File',
  value: '',
  hint: `At most ${largest}.`,
  error: errorAt('file'),
  attributes: { type: 'file', required: true },
})}
<button type="submit">Store it</button></form></details>`
}

function row(values: FilesValues, { name, label, href, size, type, updated }: FileRow): Html {
  return html`<li><p><a href="${href}" download>${label}</a></p>
<p class="kind">${size} · ${type} · changed ${momentView(updated)}</p>
${deletion(values, {
  action: values.form_action,
  fields: { action: 'delete', name },
  what: label,
  warning: 'Its content is lost.',
})}</li>
`
}
