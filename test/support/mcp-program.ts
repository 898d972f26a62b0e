/** Runs an application as a separate program, with an actor and an AI client that its owner authorized. */
import { authorizeClientAt, type TestClient } from './mcp-client.ts'
import type { Workplace } from './program.ts'
import { testKeys } from './service.ts'

export async function startProgramWithClient(
  place: Workplace,
  app: string,
): Promise<{ client: TestClient; url: string; actorId: string }> {
  const program = place.start(['dev', app], {
    env: { PORT: '0', TROUPE_SECRET_KEYS: testKeys, TROUPE_LOCAL_SIGN_IN: '0' },
  })
  const url = (await program.prints(/is ready at (http:\/\/localhost:\d+)/))[1] ?? ''
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"creator":"ada@example.com"}',
  })
  const actor = (await answer.json()) as { id: string; creator: string }
  const client = await authorizeClientAt(url, `sqlite:${place.path('data/troupe.db')}`, actor, {
    relationship: 'mcp_client',
  })
  return { client, url, actorId: actor.id }
}
