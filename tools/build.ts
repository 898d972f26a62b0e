/**
 * `npm run build`: makes `dist` with the types of every source file, the code of the package in few files, and files that
 * the code reads at run time, such as migrations.
 */
import { rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkedOut } from '../src/release.ts'
import { bundle, bundledLicenses } from './bundle.ts'
import { runCompiler } from './compiler.ts'

const root = dirname(import.meta.dirname)
const dist = join(root, 'dist')

// Deletes dist first, because outputs of renamed sources would be published.
await rm(dist, { recursive: true, force: true })
const { isValid, output } = runCompiler(['-p', join(root, 'tsconfig.build.json'), '--emitDeclarationOnly'], root)
process.stdout.write(output)
if (isValid) {
  await bundle(root, dist)
  await writeFile(join(dist, 'commit'), `${checkedOut(pathToFileURL(`${root}/`))}\n`)
  await writeFile(join(dist, 'LICENSES-of-bundled-packages'), await bundledLicenses(root))
} else {
  process.exitCode = 1
}
