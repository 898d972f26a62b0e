/** Compares single requests with the bare server on the same store. */
import { type BenchActor, createActor, requestText, send, signIn, value } from './client.ts'
import { compare, type Measured, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { besideBare, type Line, micros, rate } from './report.ts'
import type { Subject } from './subject.ts'

export async function measureRequests(
  store: string,
  subject: Subject,
  loader: Loader,
  slices: Slices,
): Promise<Line[]> {
  const troupe = await startServer('troupe', subject)
  const bare = await startServer('bare', subject)
  try {
    const actor = await createActor(troupe.port, 'bench@example.com')
    for (let index = 0; index < 20; index += 1) await send(troupe.port, actor, 'PUT', `/properties/p${index}`, value)
    const [session] = await signIn(troupe.port, actor, 1)
    const asOwner = { id: actor.id, authorization: `Bearer ${session?.access}` }
    const asPeer = await befriend(troupe.port, actor)
    const get = '/properties/p1'
    const cases: readonly Case[] = [
      { what: 'GET a property, Basic', aim: 0.7, requests: always(requestText(actor, 'GET', get)) },
      { what: 'GET a property, session token', aim: 0.7, requests: always(requestText(asOwner, 'GET', get)) },
      {
        what: 'GET a property, peer (bare: without rules)',
        aim: null,
        requests: always(requestText(asPeer, 'GET', get)),
      },
      { what: 'PUT a property, Basic, durable', aim: 0.6, requests: () => Promise.resolve(changing(actor, get)) },
      { what: 'GET all properties (20)', aim: null, requests: always(requestText(actor, 'GET', '/properties')) },
      { what: 'refresh a session, durable', aim: null, requests: () => rotations(troupe.port, actor) },
    ]
    const lines: Line[] = []
    for (const { what, aim, requests } of cases) {
      const sets = [await requests(), await requests()]
      const [own, bound] = await compare(loader, [troupe, bare], (server) => sets[server] ?? [], slices)
      if (own === undefined || bound === undefined) continue
      lines.push(besideBare({ store, what, own, bound, aim }))
    }
    const [basic, bearer] = await compare(
      loader,
      [troupe, troupe],
      (which) => [requestText(which === 0 ? actor : asOwner, 'GET', get)],
      slices,
    )
    if (basic !== undefined && bearer !== undefined) lines.push(besideBearer(store, basic, bearer))
    const [creation] = await compare(
      loader,
      [troupe],
      () => [requestText(null, 'POST', '/', JSON.stringify({ creator: 'someone@example.com' }))],
      { ...slices, rounds: 2 },
    )
    if (creation !== undefined) {
      lines.push({
        store,
        what: 'create an actor, durable',
        measured: `${rate(creation.rate)}, ${micros(creation.cpu)} CPU`,
        bound: '',
        ratio: null,
        aim: '',
        met: null,
      })
    }
    return lines
  } finally {
    await troupe.stop()
    await bare.stop()
  }
}

/** A request with Basic costs at most a tenth more processor time than one with a session token. */
function besideBearer(store: string, basic: Measured, bearer: Measured): Line {
  const ratio = basic.cpu / bearer.cpu
  return {
    store,
    what: 'GET a property, Basic beside session token',
    measured: `${micros(basic.cpu)} CPU`,
    bound: `${micros(bearer.cpu)} CPU`,
    ratio,
    aim: '≤ 1.1',
    met: ratio <= 1.1,
  }
}

interface Case {
  readonly what: string
  readonly aim: number | null
  /** Creates the requests, once for each server. */
  readonly requests: () => Promise<readonly string[]>
}

function always(request: string): () => Promise<readonly string[]> {
  return () => Promise.resolve([request])
}

/** Returns writes of different values, because SQLite writes nothing for an unchanged value. */
export function changing(actor: BenchActor, path: string): string[] {
  const bodies = Array.from({ length: 97 }, (_, index) => value.replace('dark', `dar${index + 100}`))
  return bodies.map((body) => requestText(actor, 'PUT', path, body))
}

/** Returns refresh requests. Each token is used up to a hundred times in its grace window, each time with a full rotation. */
async function rotations(port: number, actor: BenchActor): Promise<string[]> {
  const tokens = await signIn(port, actor, 2000)
  return tokens.map(({ refresh }) =>
    requestText(
      null,
      'POST',
      '/oauth/spa/token',
      JSON.stringify({ grant_type: 'refresh_token', refresh_token: refresh }),
    ),
  )
}

/** Creates a peer with the rights of a friend. */
export async function befriend(
  port: number,
  actor: BenchActor,
  peers = 'https://peer.example.com',
): Promise<BenchActor> {
  const [id, secret] = ['bench-peer', 'bench-secret-of-a-peer']
  await send(port, actor, 'POST', '/trust/friend', JSON.stringify({ baseuri: `${peers}/${id}`, id, secret }))
  await send(port, actor, 'PUT', `/trust/friend/${id}`, JSON.stringify({ approved: true }))
  return { id: actor.id, authorization: `Bearer ${secret}` }
}
