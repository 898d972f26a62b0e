/** `npm run build`: compiles the package into dist, and copies files that the code reads at run time, such as migrations. */
import { spawnSync } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)
const dist = join(root, 'dist')
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

// Deletes dist first, because outputs of renamed sources would be published.
await rm(dist, { recursive: true, force: true })
const compiled = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' })
if (compiled.status === 0) {
  await cp(join(root, 'src'), dist, { recursive: true, filter: (source) => !source.endsWith('.ts') })
} else {
  process.exitCode = 1
}
