/** View of the error page. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { FailedValues, Html } from '../shared/values.ts'

export function failedPage(values: FailedValues, { messages }: PageContext): Html {
  const { failed } = messages
  const title = titleOf(values.status_code, failed)
  return page(
    { ...values, title, messages },
    html`
<section class="card">
<h1>${title}</h1>
<p class="lead">${values.error}</p>
<p><a class="button" href="${values.back}">${values.is_actor_page ? failed.back : failed.home}</a></p>
</section>
<p class="fine">${failed.reference(values.status_code, values.request_id)}</p>`,
  )
}

function titleOf(status: number, words: Messages['failed']): string {
  if (status === 404) return words.notFound
  if (status === 401 || status === 403) return words.noAccess
  if (status === 409) return words.conflict
  if (status === 429) return words.tooManyRequests
  return status < 500 ? words.invalid : words.serviceFailed
}
