import { builtInFeature, settingsOf } from '../feature.ts'
import { createFiles } from './create.ts'
import { filesHandle } from './handle.ts'
import { fileImport } from './import.ts'
import { fileNames } from './names.ts'
import { fileOptions } from './options.ts'
import { filePages } from './pages/page.ts'
import { filePageRoutes } from './pages/routes.ts'
import { fileRoutes } from './routes/files.ts'
import { fileTables } from './tables.ts'

/** Files of an actor. */
export const files = builtInFeature({
  name: 'files',
  tables: fileTables,
  options: fileOptions,
  pages: filePages,
  start: (core) => {
    const limits = settingsOf(core, fileOptions)
    const stored = createFiles(core, limits)
    return {
      parts: { files: stored, limits, now: core.now },
      handle: { files: ({ actor, caller }) => filesHandle(stored, { actorId: actor.id, caller }) },
      recordImports: [fileImport(stored)],
      names: [fileNames(stored)],
    }
  },
  routes: ({ config }, parts, page) => [
    ...fileRoutes(() => parts().files),
    ...(config.webUi ? filePageRoutes(() => ({ ...page(), ...parts() })) : []),
  ],
})
