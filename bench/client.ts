/** Creates test data over HTTP, and formats requests as bytes. */
export interface BenchActor {
  readonly id: string
  readonly authorization: string
}

export interface BenchTokens {
  readonly access: string
  readonly refresh: string
}

export async function createActor(port: number, creator: string): Promise<BenchActor> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ creator }),
  })
  const made = (await answer.json()) as { id: string; creator: string; passphrase: string }
  return { id: made.id, authorization: `Basic ${Buffer.from(`${made.creator}:${made.passphrase}`).toString('base64')}` }
}

export async function send(
  port: number,
  actor: BenchActor,
  method: string,
  path: string,
  body?: string,
): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/${actor.id}${path}`, {
    method,
    headers: { authorization: actor.authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}

export function requestText(actor: BenchActor | null, method: string, path: string, body?: string): string {
  const target = actor === null ? path : `/${actor.id}${path}`
  const authorization = actor === null ? '' : `Authorization: ${actor.authorization}\r\n`
  const content =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n${authorization}${content}\r\n${body ?? ''}`
}

/** Signs in with the passphrase, `times` times. */
export async function signIn(port: number, actor: BenchActor, times: number): Promise<BenchTokens[]> {
  const passphrase = Buffer.from(actor.authorization.slice(6), 'base64').toString().split(':')[1]
  const body = JSON.stringify({ grant_type: 'passphrase', actor_id: actor.id, passphrase })
  const one = async (): Promise<BenchTokens> => {
    const answer = await fetch(`http://127.0.0.1:${port}/oauth/spa/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    if (!answer.ok) throw new Error(`Sign-in: ${answer.status} ${await answer.text()}`)
    const tokens = (await answer.json()) as { access_token: string; refresh_token: string }
    return { access: tokens.access_token, refresh: tokens.refresh_token }
  }
  const tokens: BenchTokens[] = []
  while (tokens.length < times) tokens.push(...(await Promise.all(Array.from({ length: 20 }, one))))
  return tokens.slice(0, times)
}

/** About 200 bytes, like a small setting or a note. */
export const value = JSON.stringify({ theme: 'dark', size: 12, tags: ['home', 'shopping'], note: 'x'.repeat(130) })
