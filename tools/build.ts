/**
 * `npm run build`: makes `dist` with the types of every source file, the code of the package in few files, and files that
 * the code reads at run time, such as migrations.
 */
import { spawnSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkedOut } from '../src/release.ts'
import { bundle, bundledLicenses } from './bundle.ts'

const root = dirname(import.meta.dirname)
const dist = join(root, 'dist')
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

// Deletes dist first, because outputs of renamed sources would be published.
await rm(dist, { recursive: true, force: true })
const args = ['-p', join(root, 'tsconfig.build.json'), '--emitDeclarationOnly']
const compiled = spawnSync(process.execPath, [compiler, ...args], { stdio: 'inherit' })
if (compiled.status === 0) {
  await bundle(root, dist)
  await writeFile(join(dist, 'commit'), `${checkedOut(pathToFileURL(`${root}/`))}\n`)
  await writeFile(join(dist, 'LICENSES-of-bundled-packages'), await bundledLicenses(root))
} else {
  process.exitCode = 1
}
