/** The public exports of this folder: JSON values, kept as text. */
export { equal } from './equal.ts'
export { array, elements, members, object } from './members.ts'
export { normalize } from './normalize.ts'
export { own } from './own.ts'
export { deleteAt, getAt, mergeAt } from './path.ts'
export { fromPlain, fromPlainOver, toPlain } from './plain.ts'
export { pretty } from './pretty.ts'
export { pythonLength } from './python-length.ts'
export { storableText, withoutLoneSurrogates } from './surrogates.ts'
export {
  defaultMaxDepth,
  isArray,
  isNull,
  isObject,
  isString,
  kindOf,
  known,
  stringText,
  stringValue,
  type Json,
  type JsonKind,
  type JsonText,
} from './text.ts'
