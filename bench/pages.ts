/** Compares pages of an actor with the same data as JSON, from one server. */
import { createActor, requestText, send, signIn, value } from './client.ts'
import { compare, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { type Line, micros, millis, rate } from './report.ts'
import { befriend } from './requests.ts'
import type { Subject } from './subject.ts'

export async function measurePages(store: string, subject: Subject, loader: Loader, slices: Slices): Promise<Line[]> {
  const server = await startServer('troupe', subject)
  try {
    const actor = await createActor(server.port, 'bench@example.com')
    const items = Array.from({ length: 50 }, (_, index) => ({ index, text: `Note ${index}`, tags: ['a', 'b'] }))
    for (let index = 0; index < 20; index += 1) await send(server.port, actor, 'PUT', `/properties/p${index}`, value)
    await send(server.port, actor, 'POST', '/properties', JSON.stringify({ notes: { _type: 'list' } }))
    await send(server.port, actor, 'POST', '/properties', JSON.stringify({ notes: { items } }))
    await befriend(server.port, actor)
    const [session] = await signIn(server.port, actor, 1)
    const owner = { id: actor.id, authorization: `Bearer ${session?.access}` }
    const lines: Line[] = []
    for (const [what, page, data] of [
      ['page: the dashboard', '/www', '/properties'],
      ['page: 21 properties', '/www/properties', '/properties'],
      ['page: a list, 50 items with their forms', '/www/properties/notes', '/properties/notes'],
      ['page: a connection, beside its permissions', '/www/trust/bench-peer', '/trust/friend/bench-peer/permissions'],
    ] as const) {
      const requests = [requestText(owner, 'GET', page), requestText(owner, 'GET', data)]
      const [shown, bound] = await compare(loader, [server, server], (index) => [requests[index] ?? ''], slices)
      if (shown === undefined || bound === undefined) continue
      lines.push({
        store,
        what,
        measured: `${rate(shown.rate)}, ${micros(shown.cpu)} CPU, p99 ${millis(shown.p99)}`,
        bound: `${rate(bound.rate)}, ${micros(bound.cpu)} CPU as JSON`,
        ratio: shown.rate / bound.rate,
        aim: '',
        met: null,
      })
    }
    return lines
  } finally {
    await server.stop()
  }
}
