import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodePath } from '../../src/http/edge/path.ts'

describe('a path', () => {
  const read: [path: string, segments: string[]][] = [
    ['/', []],
    ['/a', ['a']],
    ['/a/b/c', ['a', 'b', 'c']],
    ['/a/', ['a', '']],
    ['//', ['', '']],
    ['//a', ['', 'a']],
    ['/a//b', ['a', '', 'b']],
    ['/%41', ['A']],
    ['/%2541', ['%41']],
    ['/a%20b', ['a b']],
    ['/a+b', ['a+b']],
    ['/%C3%A9', ['\u00e9']],
    ['/%F0%9F%98%80', ['😀']],
    ['/...', ['...']],
    ['/.a/a.', ['.a', 'a.']],
    ['/a;b=c', ['a;b=c']],
    ['/a\\b', ['a\\b']],
    ['/%5C', ['\\']],
    ['/%3F%23', ['?#']],
    ['/%09%7F', ['\t\u007f']],
    ['/__proto__', ['__proto__']],
  ]
  for (const [path, segments] of read) {
    it(`${path} is decoded once to ${JSON.stringify(segments)} (HTTP-06)`, () => {
      assert.deepEqual(decodePath(path), segments)
    })
  }

  const refused: [path: string, code: string][] = [
    ['', 'bad_request'],
    ['a', 'bad_request'],
    ['*', 'bad_request'],
    ['http://x/a', 'bad_request'],
    ['/a b', 'bad_request'],
    ['/é', 'bad_request'],
    ['/a\r\nb', 'bad_request'],
    ['/a\0', 'bad_request'],
    ['/.', 'invalid_name'],
    ['/..', 'invalid_name'],
    ['/a/../b', 'invalid_name'],
    ['/a/%2e%2E/b', 'invalid_name'],
    ['/a/.%2e', 'invalid_name'],
    ['/a/%2e', 'invalid_name'],
    ['/a%2fb', 'invalid_name'],
    ['/a%2F', 'invalid_name'],
    ['/%2f%2f', 'invalid_name'],
    ['/a%00', 'invalid_name'],
    ['/%', 'bad_request'],
    ['/%4', 'bad_request'],
    ['/%zz', 'bad_request'],
    ['/%u0041', 'bad_request'],
    ['/%ff', 'bad_request'],
    ['/%c0%af', 'bad_request'],
    ['/%c0%ae%c0%ae', 'bad_request'],
    ['/%e0%80%af', 'bad_request'],
    ['/%ed%a0%80', 'bad_request'],
    ['/%f4%90%80%80', 'bad_request'],
    ['/%c3', 'bad_request'],
  ]
  for (const [path, code] of refused) {
    it(`${JSON.stringify(path)} is rejected as ${code} (HTTP-06)`, () => {
      assert.throws(() => decodePath(path), { code })
    })
  }
})
