/** The names of the files of an actor, for the review of rights. */
import { setImmediate } from 'node:timers/promises'
import type { FeatureNames } from '../feature.ts'
import { type Files, maxFilesListed } from './files.ts'

export function fileNames(files: Pick<Files, 'list'>): FeatureNames {
  return {
    category: 'files',
    async *read(actorId, caller) {
      for (let after: string | null = ''; after !== null; ) {
        const page = await files.list({ actorId, caller }, { prefix: '', after, limit: maxFilesListed })
        yield page.files.map(({ name }) => name)
        after = page.next
        await setImmediate()
      }
    },
  }
}
