import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { changedFiles, git, workingTree } from '../support/working-tree.ts'

const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgSign=false']

describe('a test run', () => {
  let root = ''
  const commit = (): void => {
    git(root, 'add', '.')
    git(root, ...author, 'commit', '--quiet', '--message', 'add files')
  }
  const write = (name: string, text: string): void => writeFileSync(join(root, name), text)
  const remove = (name: string): void => rmSync(join(root, name))

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'troupe-tree-'))
    git(root, 'init', '--quiet')
    mkdirSync(join(root, 'docs'))
    write('.gitignore', 'data/\n')
    for (const name of ['clean.md', 'modified.md', 'docs/page.md']) write(name, 'committed\n')
    commit()
    write('modified.md', 'modified\n')
    write('untracked.md', 'untracked\n')
    symlinkSync('clean.md', join(root, 'link'))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  /** Returns the paths that a run finds after this change. */
  function run(change: () => void): readonly string[] {
    const before = workingTree(root)
    assert.ok(before !== null)
    change()
    return changedFiles(root, before)
  }

  it('reports nothing when it leaves all files as they were', () => {
    const unchanged = (): void => {
      write('modified.md', 'modified\n')
      write('clean.md', 'other\n')
      write('clean.md', 'committed\n')
      mkdirSync(join(root, 'data'))
      write('data/ignored.md', 'ignored\n')
    }
    assert.deepEqual(run(unchanged), [])
  })

  it('reports nothing when files are committed with the same content', () => {
    assert.deepEqual(run(commit), [])
  })

  const changes: readonly (readonly [title: string, change: () => void, path: string])[] = [
    ['a committed file that it changed', () => write('docs/page.md', 'changed\n'), 'docs/page.md'],
    ['a committed file that it deleted', () => remove('clean.md'), 'clean.md'],
    ['a file that it left behind', () => write('left behind: ä\n.md', ''), 'left behind: ä\n.md'],
    ['a modified file that it changed', () => write('modified.md', 'changed\n'), 'modified.md'],
    ['a modified file that it restored', () => write('modified.md', 'committed\n'), 'modified.md'],
    ['an untracked file that it changed', () => write('untracked.md', 'changed\n'), 'untracked.md'],
    ['an untracked file that it deleted', () => remove('untracked.md'), 'untracked.md'],
    [
      'a link that it changed',
      () => {
        remove('link')
        symlinkSync('docs/page.md', join(root, 'link'))
      },
      'link',
    ],
  ]
  for (const [title, change, path] of changes) {
    it(`finds ${title}`, () => {
      assert.deepEqual(run(change), [path])
    })
  }

  it('finds each changed file', () => {
    const change = (): void => {
      mkdirSync(join(root, 'left'))
      for (const name of ['left/b.md', 'left/a.md', 'clean.md']) write(name, 'changed\n')
    }
    assert.deepEqual(run(change), ['clean.md', 'left/a.md', 'left/b.md'])
  })

  it('compares nothing in a copy without a repository', () => {
    rmSync(join(root, '.git'), { recursive: true })
    assert.equal(workingTree(root), null)
  })
})
