/** `POST /bot`: messages for the whole application, where a bot token is configured. */
import { ServiceError } from '../../../errors.ts'
import { toPlain } from '../../../json/json.ts'
import { type Answer, noContent } from '../../edge/response.ts'
import { readValue } from '../../edge/body.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { anyValue, errorResponses } from '../../dispatch/schemas.ts'

export const botRoutes: readonly Route[] = [
  {
    id: 'bot',
    method: 'POST',
    path: '/bot',
    access: 'service',
    summary: 'Hands a message to the application’s bot handlers',
    request: { 'application/json': anyValue },
    responses: { 204: 'Handled', ...errorResponses(404) },
    handler: serve,
  },
]

async function serve({ parts, request }: Exchange): Promise<Answer> {
  const token = parts.config.botToken
  if (token === null) throw new ServiceError('not_found', 'There is no bot here')
  const body = await readValue(request, parts.config)
  const handled = await parts.operations.bot(token, body.kind === 'json' ? toPlain(body.json) : undefined)
  if (!handled) throw new ServiceError('not_found', 'No bot handled the message')
  return noContent()
}
