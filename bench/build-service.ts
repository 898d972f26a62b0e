/**
 * Builds a service as the package does, because Node.js needs about 50 MB more memory to run the sources. The servers of
 * this folder become the entries, so they start the service of any checkout.
 */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from '../tools/bundle.ts'

const entries = ['server-bare', 'server-troupe']
const modules = [...entries, 'subject', 'subject-app']

/** @param root folder of the checkout, with its `node_modules`. @param folder receives the service; must not exist. */
export async function buildService(root: string, folder: string): Promise<void> {
  mkdirSync(join(folder, 'bench'), { recursive: true })
  for (const name of ['node_modules', 'package.json', 'src']) symlinkSync(join(root, name), join(folder, name))
  for (const name of modules) cpSync(join(import.meta.dirname, `${name}.ts`), join(folder, 'bench', `${name}.ts`))
  const input = Object.fromEntries(entries.map((name) => [name, join(folder, 'bench', `${name}.ts`)]))
  await bundle(root, join(folder, 'dist'), input)
  // Version 0.1 looks for its migrations beside the file with its code.
  cpSync(join(root, 'src', 'store', 'migrations'), join(folder, 'dist', 'migrations'), { recursive: true })
}
