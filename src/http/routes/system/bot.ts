/** `POST /bot`: messages for the whole application, where a bot token is configured. */
import type { Config } from '../../../config/options.ts'
import { ServiceError } from '../../../errors.ts'
import { toPlain } from '../../../json/json.ts'
import { type Answer, noContent } from '../../edge/response.ts'
import { type BodyLimits, readValue } from '../../edge/body.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { anyValue, errorResponses } from '../../dispatch/schemas.ts'
import type { Operations } from '../../../operation/operations.ts'

export interface BotRouteDeps {
  readonly operations: Operations
  readonly config: BodyLimits & Pick<Config, 'botToken'>
}

export function botRoutes(deps: BotRouteDeps): readonly Route[] {
  return [
    {
      id: 'bot',
      method: 'POST',
      path: '/bot',
      access: 'service',
      summary: 'Hands a message to the application’s bot handlers',
      request: { 'application/json': anyValue },
      responses: { 204: 'Handled', ...errorResponses(404) },
      handler: (exchange) => serve(deps, exchange),
    },
  ]
}

async function serve(deps: BotRouteDeps, { request }: Exchange): Promise<Answer> {
  const token = deps.config.botToken
  if (token === null) throw new ServiceError('not_found', 'There is no bot here')
  const body = await readValue(request, deps.config)
  const handled = await deps.operations.bot(token, body.kind === 'json' ? toPlain(body.json) : undefined)
  if (!handled) throw new ServiceError('not_found', 'No bot handled the message')
  return noContent()
}
