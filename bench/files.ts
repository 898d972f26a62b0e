/** Compares uploads and downloads of files with those of a bare server, in alternating slices. */
import { createActor, requestText } from './client.ts'
import { compare, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { besideBare, type Line } from './report.ts'
import type { Subject } from './subject.ts'

const size = 1_048_576
const connections = 4
const content = JSON.stringify('x'.repeat(size - 2))

/** `aim` is the least part of the bare server's rate. */
const operations = [
  { what: 'upload of a file of 1 MiB', method: 'PUT', aim: 0.3 },
  { what: 'download of a file of 1 MiB', method: 'GET', aim: 0.5 },
] as const

export async function measureFiles(store: string, subject: Subject, loader: Loader, slices: Slices): Promise<Line[]> {
  const service = await startServer('troupe', subject)
  const bare = await startServer('files', subject)
  try {
    const actor = await createActor(service.port, 'files@example.com')
    const lines: Line[] = []
    for (const { what, method, aim } of operations) {
      const body = method === 'PUT' ? content : undefined
      const requests = Array.from({ length: connections * 2 }, (_, n) =>
        requestText(actor, method, `/files/${n}`, body),
      )
      const [own, bound] = await compare(loader, [service, bare], () => requests, { ...slices, connections })
      if (own !== undefined && bound !== undefined) lines.push(besideBare({ store, what, own, bound, aim }))
    }
    return lines
  } finally {
    await service.stop()
    await bare.stop()
  }
}
