/** View of the error page. */
import { html } from 'hono/html'
import { page } from '../shared/layout.ts'
import type { FailedValues, Html } from '../shared/values.ts'

export function failedPage(values: FailedValues): Html {
  const title = titleOf(values.status_code)
  return page(
    { ...values, title },
    html`
<section class="card">
<h1>${title}</h1>
<p class="lead">${values.error}</p>
<p><a class="button" href="${values.back}">${values.is_actor_page ? 'Back to your actor' : 'To the front page'}</a></p>
</section>
<p class="fine">Status ${values.status_code} · request <code>${values.request_id}</code></p>`,
  )
}

function titleOf(status: number): string {
  if (status === 404) return 'Nothing here'
  if (status === 401 || status === 403) return 'Not allowed'
  if (status === 409) return 'Something changed meanwhile'
  if (status === 429) return 'Too many requests'
  return status < 500 ? 'That did not work' : 'The service failed'
}
