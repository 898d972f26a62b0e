/** Stores files of an actor in the folder argv[2], where no file may become larger than a limit, and prints the results as JSON. */
import { join } from 'node:path'
import { startService } from './service.ts'

const service = await startService(`sqlite:${join(process.argv[2] ?? '', 'troupe.db')}`)
const actor = await service.createActor()
const put = async (content: string): Promise<string> => {
  const answer = await actor.request('PUT', '/files/a', content)
  const body = (await answer.json()) as { error?: string; message?: string }
  return `${answer.status} ${body.error ?? ''} ${body.message ?? ''}`.trim()
}
const results = [await put('small'), await put('x'.repeat(4_000_000)), await put('other')]
const { store, parts } = await service.app.running()
parts.unusedObjects.wake()
await parts.unusedObjects.settled()
const objects = await store.read((q) => q.all('SELECT state FROM file_object'))
process.stdout.write(
  JSON.stringify({ results, objects, content: await (await actor.request('GET', '/files/a')).text() }),
)
await service.close()
