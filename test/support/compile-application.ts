/** Compiles the code of documents as an application that uses the package. */
import { dirname, join } from 'node:path'
import { runCompiler } from '../../tools/compiler.ts'
import type { Workplace } from './program.ts'

const root = dirname(dirname(import.meta.dirname))

/** Returns the compiler's errors about the modules of the workplace, with the options of the project, or '' without errors. */
export function compile(place: Workplace): string {
  place.write(
    'tsconfig.json',
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        typeRoots: [join(root, 'node_modules', '@types')],
        // The sources of the project are checked again only when they change.
        incremental: true,
        tsBuildInfoFile: join(root, 'node_modules', '.cache', 'applications.tsbuildinfo'),
      },
      include: ['*.ts'],
    }),
  )
  place.write('package.json', '{"type":"module"}')
  const { isValid, output } = runCompiler(['-p', place.folder], place.folder)
  if (isValid) return output
  // The compiler also reports errors of the project's own files, which the documents did not cause.
  return output
    .split('\n')
    .filter((line) => /^[\w.-]+\.ts\(/.test(line))
    .join('\n')
}
