/** Responses to refused forms. */
import { type ErrorCode, ServiceError } from '../../errors.ts'
import { acceptsPages } from '../../http/edge/accepts.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Messages } from '../languages/language.ts'
import { pageRefusal } from './error-text.ts'

/**
 * Runs the work of a form. When it is refused, a browser receives the page with its input and the reason, and a program
 * receives the error.
 */
export async function refusedOnPage(
  exchange: PageExchange,
  work: () => Promise<HttpResponse>,
  show: (error: ServiceError) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error
    const refused = asOnPage(error)
    if (!acceptsPages(exchange.request) || refused.code === 'not_found') throw refused
    return show(refused)
  }
}

/** A form has a code of its own for some refusals of the API. */
function asOnPage(error: ServiceError): ServiceError {
  // A value that a hook rejects is reported as forbidden on a page (WIRE-PAGE-02).
  if (error.code === 'rejected') return new ServiceError('forbidden', error.message, error.detail)
  // The page exists, and showed what the form is about.
  const isOutdated = error.code === 'not_found' && error.detail.refusal !== undefined
  return isOutdated ? new ServiceError('conflict', error.message, error.detail) : error
}

/** A form that no built-in page sends. The message is for programs. */
export function formRefusal(why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot take the form: ${why}`)
}

/**
 * Invalid input of a person.
 *
 * @param why For programs.
 * @param field Name of the field that caused the refusal.
 */
export function inputRefusal(why: string, onPage: (messages: Messages) => string, field?: string): ServiceError {
  return pageRefusal('bad_request', `Cannot take the form: ${why}`, onPage, field === undefined ? {} : { field })
}

/**
 * Runs the work and attributes a refusal to the field, unless it names another field. Refusals that other input in the field
 * could not avoid stay unchanged.
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
  'quota_exceeded',
  'peer_failed',
])
