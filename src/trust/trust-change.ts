/** What an owner changes of a relationship. */
import { ServiceError } from '../errors.ts'
import type { JsonText } from '../json/json.ts'
import { parseBaseuri } from './baseuri.ts'
import { requestFieldsOf, plainText, textField, truthField } from './fields.ts'

export interface TrustChange {
  readonly approved?: boolean | undefined
  readonly baseuri?: string | undefined
  readonly description?: string | undefined
}

const what = 'change this relationship'

/** `permissions` is handed on as it came. @throws ServiceError `bad_request` */
export function parseTrustChange(body: JsonText): TrustChange & { readonly permissions: JsonText | undefined } {
  const fields = requestFieldsOf(body, what)
  const address = textField(fields, 'baseuri', what)
  const baseuri = address === undefined ? undefined : parseBaseuri(address)
  if (baseuri === null) {
    throw new ServiceError('bad_request', `Cannot ${what}: baseuri is not the address of an actor`)
  }
  return {
    approved: truthField(fields, 'approved', what),
    baseuri,
    description: plainText(fields, 'desc', what),
    permissions: fields.get('permissions'),
  }
}
