/** Files of an archive that the owner imports, as changes of the owner. */
import type { RecordImport } from '../feature.ts'
import type { Files } from './files.ts'

export function fileImport(files: Pick<Files, 'stat' | 'put'>): RecordImport {
  return {
    kind: 'file',
    put: async ({ actor, caller }, existing, row, bytes) => {
      const by = { actorId: actor.id, caller }
      const [name, hash] = [String(row['name']), String(row['hash'])]
      const stored = await files.stat(by, name)
      if (stored?.hash === hash) return 'same'
      if (stored !== null && existing === 'keep') return 'kept'
      await files.put(by, name, bytes, { type: String(row['type']), size: Number(row['size']), hash })
      return 'imported'
    },
  }
}
