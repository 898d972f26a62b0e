/** Creates a relationship between two actors of two services over HTTP, as their owners would. */
import type { TestActor, TestService } from './service.ts'
import { until } from './until.ts'

export interface Related {
  readonly asking: TestActor
  readonly asked: TestActor
  readonly relationship: string
  /** The secret that both actors share. */
  readonly secret: string
  /** Sends a request as `asking` to a path of the actor `asked`, as a peer would. */
  request(method: string, path: string, body?: unknown): Promise<Response>
}

/** Waits for the notification of the approval, which is sent after the response. */
async function knowsApproval(asking: TestActor, path: string): Promise<void> {
  await until(async () => {
    const trust = (await (await asking.request('GET', path)).json()) as { peer_approved?: boolean }
    return trust.peer_approved === true
  })
}

/** Requests a relationship from `asking` to `asked`, and approves it unless `approved` is false. Both services must listen. */
export async function relate(
  asking: TestActor,
  [askedService, asked]: readonly [Pick<TestService, 'url' | 'request'>, TestActor],
  relationship = 'friend',
  approved = true,
): Promise<Related> {
  const made = await asking.request('POST', '/trust', { url: `${askedService.url}/${asked.id}`, relationship })
  if (made.status !== 201) throw new Error(`Cannot request the relationship: ${made.status} ${await made.text()}`)
  const { secret } = (await made.json()) as { secret: string }
  if (approved) {
    const answer = await asked.request('PUT', `/trust/${relationship}/${asking.id}`, { approved: true })
    if (answer.status !== 204)
      throw new Error(`Cannot approve the relationship: ${answer.status} ${await answer.text()}`)
    await knowsApproval(asking, `/trust/${relationship}/${asked.id}`)
  }
  return {
    asking,
    asked,
    relationship,
    secret,
    request: async (method, path, body) =>
      askedService.request(`/${asked.id}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${secret}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  }
}
