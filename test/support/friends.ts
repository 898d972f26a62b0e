/** Two actors of two services in a relationship, as their owners would make it over HTTP. */
import type { TestActor, TestService } from './service.ts'
import { until } from './until.ts'

export interface Related {
  readonly asking: TestActor
  readonly asked: TestActor
  readonly relationship: string
  /** The secret that both sides know. */
  readonly secret: string
  /** As the actor that asked, below the other one: what a peer's program sends. */
  request(method: string, path: string, body?: unknown): Promise<Response>
}

/** The notification of the approval travels behind the answer to it. */
async function knowsApproval(asking: TestActor, path: string): Promise<void> {
  await until(async () => {
    const trust = (await (await asking.request('GET', path)).json()) as { peer_approved?: boolean }
    return trust.peer_approved === true
  })
}

/** `asking` asks `asked`, whose owner approves unless told otherwise. Both services have to listen. */
export async function relate(
  asking: TestActor,
  [askedService, asked]: readonly [TestService, TestActor],
  relationship = 'friend',
  approved = true,
): Promise<Related> {
  const made = await asking.request('POST', '/trust', { url: `${askedService.url}/${asked.id}`, relationship })
  if (made.status !== 201) throw new Error(`No relationship: ${made.status} ${await made.text()}`)
  const { secret } = (await made.json()) as { secret: string }
  if (approved) {
    const answer = await asked.request('PUT', `/trust/${relationship}/${asking.id}`, { approved: true })
    if (answer.status !== 204) throw new Error(`No approval: ${answer.status} ${await answer.text()}`)
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
