/** Compiles the code of documents as an application that uses the package. */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Workplace } from './program.ts'

const root = dirname(dirname(import.meta.dirname))

/** Returns the compiler's errors about the modules of the workplace, with the options of the project, or '' without errors. */
export function compile(place: Workplace): string {
  const require = createRequire(import.meta.url)
  const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc')
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
  try {
    return execFileSync(process.execPath, [compiler, '-p', place.folder], { cwd: place.folder, encoding: 'utf8' })
  } catch (error) {
    // The compiler also reports errors of the project's own files, which the documents did not cause.
    const lines = (error as { stdout: string }).stdout.split('\n')
    return lines.filter((line) => /^[\w.-]+\.ts\(/.test(line)).join('\n')
  }
}
