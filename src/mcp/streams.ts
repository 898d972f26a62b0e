/** Opens streams to clients, and limits the number of open streams of each client. */
import { ConcurrencyLimit } from '../rate-limit/concurrency-limit.ts'
import { clientKeyOf, type McpAccess } from './call/call.ts'
import type { Reply } from './protocol/reply.ts'

/** The most concurrent streams of one client. */
const maxStreams = 16

export class Streams {
  readonly #limit = new ConcurrencyLimit(maxStreams, 'This client', 'streams')

  /** @throws ServiceError `too_many_requests` */
  open(access: McpAccess, messages: (signal: AbortSignal) => AsyncGenerator<object>): Reply {
    const release = this.#limit.begin(clientKeyOf(access))
    const controller = new AbortController()
    const close = (): void => {
      controller.abort()
      release()
    }
    return { kind: 'stream', messages: closing(messages(controller.signal), close), close }
  }
}

async function* closing(messages: AsyncGenerator<object>, close: () => void): AsyncGenerator<object> {
  try {
    yield* messages
  } finally {
    close()
  }
}
