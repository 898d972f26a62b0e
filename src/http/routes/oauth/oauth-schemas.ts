/** Bodies of the authorization server, as the documentation shows them. */

export const oauthErrorSchema = {
  type: 'object',
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
}
export const oauthRefusals = {
  400: { text: 'Refused, with the code of the RFC', schema: oauthErrorSchema },
  500: { text: 'server_error; nothing is spent', schema: oauthErrorSchema },
}
export function oauthForm(properties: Record<string, object>): Record<string, object> {
  return { 'application/x-www-form-urlencoded': { type: 'object', properties } }
}
