import type { ObjectModule } from '../object/create.ts'
import { workerDeps, type JobModule } from '../job/create.ts'
import { JobWorker } from '../job/worker.ts'
import type { PropertyModule } from '../property/create.ts'
import type { Runtime } from '../runtime.ts'
import { SignInAge } from '../permission/sign-in-age.ts'
import { ArchiveActs } from './acts.ts'
import { ArchiveImports } from './archive-imports.ts'
import { Archives } from './archives.ts'
import type { RecordImport } from './merge-archive.ts'

interface ArchiveNeeds {
  readonly property: PropertyModule
  readonly job: Pick<JobModule, 'jobs'>
  readonly objects: ObjectModule
}

export type ArchiveModule = ReturnType<typeof createArchives>

export function createArchives(runtime: Runtime, { property, job, objects }: ArchiveNeeds) {
  const { fileBytes: bytes, unusedObjects } = objects
  const recordImports: RecordImport[] = []
  const archives = new Archives({ ...runtime, ...property, bytes })
  const imports: ArchiveImports = new ArchiveImports({
    ...runtime,
    ...property,
    bytes,
    recordImports,
    wake: (actorId) => worker.wake(actorId),
    wakeUnused: unusedObjects.wake,
  })
  const worker = new JobWorker(workerDeps(runtime), imports.jobQueue)
  job.jobs.add(worker)
  return {
    archives,
    imports,
    recordImports,
    archiveActs: new ArchiveActs({ archives, imports, signInAge: new SignInAge(runtime), mail: runtime.mail }),
  }
}
