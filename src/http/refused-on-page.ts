/** A form that cannot be taken. */
import { ServiceError } from '../errors.ts'
import { acceptsPages } from './accepts.ts'
import type { Answer } from './answer.ts'
import type { PageExchange } from './route.ts'

/** A person gets the page again with what was typed and why it was not taken; a program gets the error. */
export async function refusedOnPage(
  exchange: PageExchange,
  work: () => Promise<Answer>,
  show: (error: ServiceError) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error
    // What a hook does not take from a page is not allowed (wire, 5.3), whichever way it was sent.
    const told = error.code === 'rejected' ? new ServiceError('forbidden', error.message, error.detail) : error
    if (!acceptsPages(exchange.request) || told.code === 'not_found') throw told
    return show(told)
  }
}

export function formRefusal(why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot take the form: ${why}`)
}
