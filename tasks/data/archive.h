#pragma once

#include <cstdint>
#include <optional>
#include <string>

struct gzFile_s;  // of zlib

/// A path that goes on behind the name of a tar archive means a file in it: "corpus.tar.gz/zh-en/train.txt".
namespace bough {

/// A file in a tar archive, which may be compressed with gzip.
struct ArchiveMember {
  std::string archive;  ///< path of the archive
  std::string member;   ///< name in it
};

/// What a path means that goes on behind an archive, a file called *.tar, *.tar.gz or *.tgz; nothing for any other
/// path. Does not look into the archive.
std::optional<ArchiveMember> archive_member(const std::string& path);

/// Reads a file that zlib has opened, compressed or not, up to the content of the member; returns its size in bytes.
/// IoError naming the files that the archive has if this is none of them, and for a damaged archive.
std::int64_t find_in_archive(gzFile_s* file, const ArchiveMember& wanted);

}  // namespace bough
