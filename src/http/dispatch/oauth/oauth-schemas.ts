/** Bodies of the authorization server, as the documentation shows them. */
import { objectSchema, optional, stringField } from '../../../json/fields.ts'
import type { RequestBody } from '../request-body.ts'
import { type OAuthFields, readOAuthForm } from './oauth-response.ts'

export const oauthErrorSchema = {
  type: 'object',
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
}
export const oauthRefusals = {
  400: { text: 'Refused, with the code of the RFC', schema: oauthErrorSchema },
  500: { text: 'server_error; nothing is spent', schema: oauthErrorSchema },
}

/** A form whose parameters the authorization server reads by itself, because it refuses in the words of OAuth. */
export function oauthForm(...names: readonly string[]): RequestBody<OAuthFields> {
  const fields = Object.fromEntries(names.map((name) => [name, optional(stringField('As defined by the RFC'))]))
  return {
    content: { 'application/x-www-form-urlencoded': objectSchema(fields) },
    read: ({ request, bodyLimits }) => readOAuthForm(request, bodyLimits),
  }
}
