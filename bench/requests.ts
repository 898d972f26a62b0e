/** Single requests beside the bare server on the same store. */
import { createActor, requestText, send, value } from './client.ts'
import { compare, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { type Line, micros, rate } from './report.ts'
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
    const cases = [
      { what: 'GET a property, Basic', aim: 0.7, request: requestText(actor, 'GET', '/properties/p1') },
      { what: 'PUT a property, Basic, durable', aim: 0.6, request: requestText(actor, 'PUT', '/properties/p1', value) },
      { what: 'GET all properties (20)', aim: null, request: requestText(actor, 'GET', '/properties') },
    ]
    const lines: Line[] = []
    for (const { what, aim, request } of cases) {
      const [own, bound] = await compare(loader, [troupe, bare], () => [request], slices)
      if (own === undefined || bound === undefined) continue
      const ratio = own.rate / bound.rate
      lines.push({
        store,
        what,
        measured: `${rate(own.rate)}, ${micros(own.cpu)} CPU, p99 ${(own.p99 / 1000).toFixed(1)} ms`,
        bound: `${rate(bound.rate)}, ${micros(bound.cpu)} CPU bare`,
        ratio,
        aim: aim === null ? '' : `≥ ${aim}`,
        met: aim === null ? null : ratio >= aim,
      })
    }
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
