package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

const (
	saltSize   = 16
	recordSize = 4096 // of RFC 8188; a message is one record, and shorter
	// messageSize is the size to which each message is padded, so that its length
	// says nothing. Services take 4096 bytes with all that is around it.
	messageSize = 2048
	// maxText is how much text fits, before the byte that ends it.
	maxText = messageSize - 1
)

// encrypt returns the body of a push message: text of at most maxText bytes, for the
// browser with that public key and secret.
func encrypt(key, auth, text []byte) ([]byte, error) {
	own, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	padded := make([]byte, messageSize)
	padded[copy(padded, text)] = lastRecord
	return seal(own, salt, key, auth, padded)
}

// lastRecord ends the text of a message's only record; zeros may follow.
const lastRecord = 2

// seal encrypts a record that is padded already (RFC 8291, 3.4, and RFC 8188, 2).
func seal(own *ecdh.PrivateKey, salt, key, auth, record []byte) ([]byte, error) {
	theirs, err := ecdh.P256().NewPublicKey(key)
	if err != nil {
		return nil, err
	}
	shared, err := own.ECDH(theirs)
	if err != nil {
		return nil, err
	}
	public := own.PublicKey().Bytes()
	input, err := hkdf.Key(sha256.New, shared, auth, "WebPush: info\x00"+string(key)+string(public), sha256.Size)
	if err != nil {
		return nil, err
	}
	aead, nonce, err := contentKey(input, salt)
	if err != nil {
		return nil, err
	}
	body := binary.BigEndian.AppendUint32(append([]byte(nil), salt...), recordSize)
	body = append(append(body, byte(len(public))), public...)
	return aead.Seal(body, nonce, record, nil), nil
}

// contentKey derives the key and the nonce of the first record (RFC 8188, 2.2 and 2.3).
func contentKey(input, salt []byte) (cipher.AEAD, []byte, error) {
	key, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, nil, err
	}
	nonce, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	aead, err := cipher.NewGCM(block)
	return aead, nonce, err
}
