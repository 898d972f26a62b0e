/** The signatures that the store of the tests requires are those that the documentation of Amazon S3 publishes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { signatureOf } from '../support/s3.ts'

const key = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const headers = { host: 'examplebucket.s3.amazonaws.com', 'x-amz-date': '20130524T000000Z' }

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
describe('the signature of a request to an S3-compatible store', () => {
  it('is the one of the published example “GET Object”', () => {
    const hash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    assert.equal(
      signatureOf(
        {
          method: 'GET',
          path: '/test.txt',
          headers: { ...headers, range: 'bytes=0-9', 'x-amz-content-sha256': hash },
        },
        key,
        ['host', 'range', 'x-amz-content-sha256', 'x-amz-date'],
      ),
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    )
  })

  it('is the one of the published example “PUT Object”', () => {
    assert.equal(
      signatureOf(
        {
          method: 'PUT',
          path: '/test%24file.text',
          headers: {
            ...headers,
            date: 'Fri, 24 May 2013 00:00:00 GMT',
            'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
            'x-amz-storage-class': 'REDUCED_REDUNDANCY',
          },
        },
        key,
        ['date', 'host', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-storage-class'],
      ),
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    )
  })
})
