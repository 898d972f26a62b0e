/** The page of a device: asks for the code that it shows, and says what the owner decided. */
import { html } from 'hono/html'
import { formField, verbatim } from '../shared/form-field.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import type { DeviceValues } from './values.ts'

export function devicePage(values: DeviceValues, { messages }: PageContext): Html {
  const { device: words, frame } = messages
  const { outcome, error, user_code, action } = values
  if (outcome !== null) {
    const title = words.outcomes[outcome]
    return page(
      { ...values, title, messages },
      html`
<section class="card">
<h1>${title}</h1>
<p class="lead" role="status">${words.outcomeTexts[outcome]}</p>
</section>`,
    )
  }
  return page(
    { ...values, title: error === null ? words.title : frame.errorTitle(words.title), messages },
    html`
<section class="card">
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
<form method="post" action="${action}">
${formField({
  id: 'user_code',
  name: 'user_code',
  label: words.code,
  value: user_code,
  error,
  isOnlyMessage: true,
  attributes: { ...verbatim, required: true, maxlength: '20' },
})}
<button type="submit">${words.continue}</button></form>
</section>
<section class="notes">
<p>${words.warning}</p>
</section>`,
  )
}
