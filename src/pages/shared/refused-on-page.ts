/** A form that cannot be taken. */
import { type ErrorCode, ServiceError } from '../../errors.ts'
import { acceptsPages } from '../../http/edge/accepts.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'

/** A person gets the page again with what was typed and why it was not taken; a program gets the error. */
export async function refusedOnPage(
  exchange: PageExchange,
  work: () => Promise<HttpResponse>,
  show: (error: ServiceError) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error
    // What a hook does not take from a page is not allowed (WIRE-PAGE-02), whichever way it was sent.
    const told = error.code === 'rejected' ? new ServiceError('forbidden', error.message, error.detail) : error
    if (!acceptsPages(exchange.request) || told.code === 'not_found') throw told
    return show(told)
  }
}

/** @param field Name of the field that is at fault. */
export function formRefusal(why: string, field?: string): ServiceError {
  return new ServiceError('bad_request', `Cannot take the form: ${why}`, field === undefined ? {} : { field })
}

/**
 * A refusal of what was typed into the field names the field, unless the refusal names another one. Refusals that no
 * other text in the field would lift stay as they are.
 */
export async function atField<T>(field: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.detail.field !== undefined || !aboutInput.has(error.code)) throw error
    throw new ServiceError(error.code, error.message, { ...error.detail, field })
  }
}

const aboutInput: ReadonlySet<ErrorCode> = new Set([
  'bad_request',
  'invalid_json',
  'invalid_name',
  'invalid_value',
  'invalid_index',
  'rejected',
  'forbidden',
  'conflict',
  'creator_exists',
  'payload_too_large',
  'peer_failed',
])
