/** `POST /bot`: messages for the whole application, where a bot token is configured. */
import type { Config } from '../../../config/options.ts'
import { ServiceError } from '../../../errors.ts'
import { type Json, toPlain } from '../../../json/json.ts'
import { type HttpResponse, noContent } from '../../edge/response.ts'
import { readValue } from '../../edge/body.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import type { RequestBody } from '../../dispatch/request-body.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { anyValue, errorResponses } from '../../dispatch/schemas.ts'
import type { Operations } from '../../../operation/operations.ts'

/** The message; undefined for a body that is not JSON. */
const message: RequestBody<Json | undefined> = {
  content: { 'application/json': anyValue },
  read: async ({ request, bodyLimits }) => {
    const body = await readValue(request, bodyLimits)
    return body.kind === 'json' ? toPlain(body.json) : undefined
  },
}

export interface BotRouteDeps {
  readonly operations: Operations
  readonly config: Pick<Config, 'botToken'>
}

export function botRoutes(deps: BotRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'bot',
      method: 'POST',
      path: '/bot',
      access: 'service',
      summary: 'Passes a message to the bot handlers of the application',
      request: message,
      // The bot's platform composes the address, and may add parameters of its own.
      unknownQuery: 'ignored',
      responses: { 204: 'Handled', ...errorResponses(404) },
      handler: (exchange) => serve(deps, exchange),
    }),
  ]
}

async function serve(deps: BotRouteDeps, { body }: Exchange & Bodied<Json | undefined>): Promise<HttpResponse> {
  const token = deps.config.botToken
  if (token === null) throw new ServiceError('not_found', 'Cannot reach the bot: none is configured')
  const handled = await deps.operations.bot(token, await body())
  if (!handled) throw new ServiceError('not_found', 'No bot handled the message')
  return noContent()
}
